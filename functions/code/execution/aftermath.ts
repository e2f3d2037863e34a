import { isWrite } from "../catalogue.ts";
import type { CallResponse, ProgramError } from "../envelope.ts";
import { clip } from "../language/sentences.ts";
import type { Evaluation } from "./evaluator.ts";
import type { Losses } from "./keep.ts";

/** What is left of a program that ran: its session with what that did not keep, and whether it may be sent again as it is. */
type Left = { sessionId: string | undefined; losses: Losses | undefined; isKeyed: boolean };

/** Failures that are not the program's: the same again may do. */
const passing = new Set(["out_of_time", "internal", "busy", "upstream_unavailable", "rate_limited"]);
const shownNames = 5;

/**
 * The answer of a program that ran; where it failed after it had changed something, the error ends with what stands, and
 * what is to be done about it.
 */
export function withAftermath({ responses, completed, error }: Evaluation, left: Left) {
  const writes = responses.filter((one) => one.status === "completed" && isWrite(one.function)).length;
  if (!error || writes === 0) return { responses, ...(error ? { error } : {}) };
  const isOne = writes === 1;
  const kept = keptNames(completed, left);
  const places = [
    `${isOne ? "its result is" : "their results are"} in \`responses\``,
    ...(kept.length > 0
      ? [`${kept.join(", ")} ${kept.length === 1 ? "is" : "are"} kept in session ${left.sessionId}`]
      : []),
  ];
  const advice =
    left.isKeyed && passing.has(error.code)
      ? "send the same program with the same request_id again, and only the rest is done"
      : `leave ${isOne ? "it" : "them"} out of the mended program`;
  const stands = `${writes} ${isOne ? "call" : "calls"} before this took effect, ${places.join(", and ")}: ${advice}.`;
  const told: ProgramError = { ...error, message: `${error.message}\n${stands}` };
  const entryOf = (one: CallResponse): CallResponse => (one.status === "failed" ? { ...one, error: told } : one);
  return { responses: responses.map(entryOf), error: told };
}

/** The variables that hold what writes brought, as far as the session kept them. */
function keptNames(completed: Evaluation["completed"], { sessionId, losses }: Left): string[] {
  if (sessionId === undefined || losses?.not_kept_total !== undefined) return [];
  const lost = new Set(losses?.not_kept.map(({ name }) => name));
  const last = new Map(completed.map(({ step }) => [step.statement.target, step.writes]));
  const names = [...last].flatMap(([name, writes]) =>
    name !== undefined && writes && !lost.has(clip(name)) ? [name] : [],
  );
  const shown = names.slice(0, shownNames).map((name) => `\`${clip(name)}\``);
  return names.length > shown.length ? [...shown, `${names.length - shown.length} more`] : shown;
}
