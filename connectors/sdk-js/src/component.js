// The exports of the component that `connector-build` makes from a table.

import * as authAdditions from "gateway:connector/auth-additions@1.2.0";
import * as clock from "gateway:connector/clock@1.2.0";
import * as config from "gateway:connector/config@1.2.0";
import * as http from "gateway:connector/http@1.2.0";
import { Document } from "gateway:connector/json@1.2.0";
import * as log from "gateway:connector/log@1.2.0";
import * as multipart from "gateway:connector/multipart@1.2.0";
import { declareLastItem } from "gateway:connector/page-additions@1.2.0";
import * as progress from "gateway:connector/progress@1.2.0";
import { bytes } from "gateway:connector/random@1.2.0";
import { declareRequest, declareRow, makeRequest } from "gateway:connector/row-additions@1.2.0";
import * as signedLinks from "gateway:connector/signed-links@1.2.0";
import * as storage from "gateway:connector/storage@1.2.0";
import { declareInbox, declareTrigger } from "gateway:connector/trigger-additions@1.2.0";
import { declarePart, declareSite } from "gateway:connector/upstream-additions@1.2.0";

import { declare } from "./auth_additions.js";
import { refuseFetch, replaceConsole } from "./console.js";
import { setHost } from "./host.js";
import { faultOf, outcome } from "./outcome.js";
import { placesIn } from "./places.js";
import { replaceRandomValues } from "./random.js";
import { Table } from "./table.js";
import { refuseTimers, replaceTime } from "./time.js";

const replaced = [replaceRandomValues(bytes), replaceTime(clock.now), replaceConsole(log.write)];
refuseTimers();
refuseFetch();
setHost({ http, Document, storage, config, log, clock, multipart, progress, signedLinks, makeRequest: () => makeRequest() });

export function component(table, lines) {
  if (!(table instanceof Table)) throw new TypeError("the module of a connector exports its table: `export default connector({ … })`");
  // The text of an exception with its stack trace goes to the log, because a trap would lose it.
  const report = (error) => {
    const text = error instanceof Error ? `${error.name}: ${error.message}` : `a thrown value: ${String(error)}`;
    const places = placesIn(error?.stack ?? "", lines());
    log.write("error", [text, ...places.map((place) => `    at ${place}`)].join("\n"));
    return { text, place: places[0] };
  };
  return {
    describe() {
      declare(authAdditions, table.authAdditions);
      for (const part of table.additions.parts) declarePart(part);
      for (const [upstream, site] of table.additions.sites) declareSite(upstream, site);
      for (const [operation, row] of table.rows()) declareRow(operation, row);
      for (const [operation, row] of table.requests()) declareRequest(operation, row);
      for (const [operation, more] of table.lastItems()) declareLastItem(operation, more);
      for (const inbox of table.events.inboxes) declareInbox(inbox);
      for (const trigger of table.events.triggers) declareTrigger(trigger);
      return table.manifest;
    },
    invoke(operation, input) {
      for (const source of replaced) source.start();
      try {
        return outcome(table.run(operation, input));
      } catch (error) {
        throw faultOf(error, report);
      }
    },
  };
}
