// Dialogs: a form, and a question before a change. The question says what will happen, and shows why the gateway refused.

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { BusyButton, html, Problem, tell } from "./parts.js";
import { words } from "./words.js";

/**
 * A dialog. The browser keeps the focus inside, and gives it back to the button that opened the dialog. It opens at once, so that the next
 * key is for the dialog and not for the page behind it.
 */
function Dialog({ title, onClose, children }) {
  const dialog = useRef(null);
  useLayoutEffect(() => {
    dialog.current.showModal();
  }, []);
  return html`<dialog ref=${dialog} aria-labelledby="dialog-title" onClose=${onClose}>
    <h2 id="dialog-title">${title}</h2>
    ${children}
  </dialog>`;
}

/** A button that opens a dialog, which begins anew each time. */
export function DialogButton({ label, title, kind, children }) {
  // The number of the dialog that is open, 0 if none is. A browser tells late that a dialog is closed, perhaps after the next one was opened.
  const [opened, setOpened] = useState(0);
  const count = useRef(0);
  const button = useRef(null);
  // The change may take the button away, as a revoked key does, and the focus with it.
  useLayoutEffect(() => () => keepFocusOf(button.current), []);
  return html`
    <button type="button" ref=${button} class=${kind} onClick=${() => setOpened((count.current += 1))}>${label}</button>
    ${opened > 0 && html`<${Dialog} key=${opened} title=${title ?? label} onClose=${() => setOpened((now) => (now === opened ? 0 : now))}>${children}<//>`}
  `;
}

/** Gives the focus of an element that goes away to the heading of the screen. The page stays where it is. */
function keepFocusOf(element) {
  if (element && document.activeElement === element) document.querySelector("h1")?.focus({ preventScroll: true });
}

/** Closes the dialog of a button. */
export const closeDialog = (event) => event.currentTarget.closest("dialog").close();

/** The field for the reason of a change, which the audit keeps. */
export const ReasonField = () => html`<label class="reason-field">${words.reason} <input name="reason" maxlength="500" autocomplete="off" /></label>`;

/**
 * A button that asks before it changes something. `what` says what will happen. `change` gets the reason in the form in which `call`
 * takes it, and returns what to tell the operator. `isAudited` is `false` if the audit does not have the change. `isReady` is `false` while
 * the change needs something that is not there yet.
 */
export const ChangeButton = ({ label, title, danger, ...question }) => html`
  <${DialogButton} label=${label} title=${title} kind=${danger ? "danger" : ""}><${Question} label=${label} danger=${danger} ...${question} /><//>
`;

function Question({ label, danger, what, change, onDone, isAudited = true, isReady = true }) {
  const [state, setState] = useState({});
  const begin = async (event) => {
    const dialog = event.currentTarget.closest("dialog");
    const reason = dialog.querySelector("[name=reason]")?.value;
    setState({ isBusy: true });
    try {
      const message = await change({ reason });
      dialog.close();
      tell(message ?? words.done);
      onDone?.();
    } catch (error) {
      setState({ problem: error.problem ?? { title: words.failed, detail: String(error) } });
    }
  };
  return html`
    ${what}
    ${isAudited && html`<${ReasonField} />`}
    <${Problem} of=${state.problem} />
    <p class="buttons">
      <button type="button" onClick=${closeDialog}>${words.cancel}</button>
      <${BusyButton} type="button" class=${danger ? "danger" : "first"} isBusy=${state.isBusy || !isReady} onClick=${begin}>${label}<//>
    </p>
  `;
}
