import type { Part, Table } from "./index.js";

export interface Answer {
  status: number;
  headers: Record<string, string>;
  body: string;
}
export function answer(status: number, body?: unknown, headers?: Record<string, string> | readonly (readonly [string, string])[]): Answer;

/**
 * Runs the operation of a recording, answers its requests from the recording, and checks that it
 * sends the recorded requests and ends as recorded. The content of a file is not compared. For a
 * recorded problem, it only checks that the operation fails. Throws an error with the differences.
 */
export function replay(table: Table, file: string | URL): void;

/** The gateway that the code under test calls, until the next one is made. */
export class Gateway {
  requests: { method: string; upstream: string; target: { tag: "path" | "link"; val: string }; headers: [string, string][]; body?: { tag: string; val: any } }[];
  stored: Map<string, Uint8Array>;
  logged: [string, string][];
  reported: [number, string][];
  answer(prepared: Answer): this;
  failure(error: { tag: string; val?: string | number }): this;
  setting(name: string, value: unknown): this;
  now(milliseconds: number): this;
  /** The parts of a request whose body is a form with files. Empty for any other body. */
  parts(request: object): Part[];
  invoke(table: Table, operation: string, input?: object | string): any;
  refused(table: Table, operation: string, input: object | string): { pointer: string; detail: string }[];
}
