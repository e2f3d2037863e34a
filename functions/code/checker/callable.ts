import type { CodeFunction } from "../catalogue/code-function.ts";
import type { Mistake } from "../language/mistake.ts";
import type { Call } from "../language/syntax.ts";
import type { Surroundings } from "./variables.ts";

/** Why a function may not be called in this program, where it is not the function's own. */
export function whyNot({ name, at }: Call, { route, ofSession }: CodeFunction, around: Surroundings): Mistake[] {
  const mistakes: Mistake[] = [];
  if (around.readOnly && route.access === "write") {
    const message = `This program may only read, and ${name} changes something: send it where programs may write.`;
    mistakes.push({ code: "read_only", message, at });
  }
  if (ofSession && !around.session) {
    mistakes.push({ code: "no_session", message: `${name} needs a session: send a session_id.`, at });
  }
  return mistakes;
}
