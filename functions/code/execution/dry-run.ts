import { viewCapability } from "../../../shared/auth/capabilities.ts";
import { type Permissions, covers } from "../../../shared/auth/permissions.ts";
import { InvalidInput, Problem } from "../../../shared/core/errors.ts";
import { type InvocationContext, type RehearsedCall, rehearse } from "../../../shared/http/invoke.ts";
import { reachOf } from "../../../shared/http/may-call.ts";
import type { Route } from "../../../shared/http/route.ts";
import { type CodeFunction, scoreUnit } from "../catalogue/function.ts";
import { formatPath, inputOf } from "../checker/arguments.ts";
import type { Checked, CheckedCall } from "../checker/checker.ts";
import type { DryCall, PlannedWrite, ProgramError } from "../envelope.ts";
import { sizeOf } from "../interpreter/budget.ts";
import { isPartlyUnknown, unknownValue } from "../interpreter/values.ts";
import type { Call } from "../language/ast.ts";
import { readsAtOnce } from "../language/limits.ts";
import { permissionsOf } from "./held-permissions.ts";
import {
  type Caller,
  type RunProgramOptions,
  diagnosticOf,
  programFailure,
  lastValueOf,
  openCaller,
} from "./program.ts";
import { ResultRoom, resultTooLarge } from "./responses.ts";
import { type Perform, runSteps } from "./scheduler.ts";

type CallEffect = Parameters<Perform>[0];
/** The findings of a dry run about one call in the program's text. */
type Rehearsed = {
  /** Whether the answer of a write decides if a run makes the call. */
  isUnsure: boolean;
  /** Whether the call follows a write, so that a run may get another answer. */
  mayDiffer: boolean;
  planned: PlannedWrite[];
};
const notReached: Rehearsed = { isUnsure: false, mayDiffer: false, planned: [] };
type DryRun = { calls: DryCall[]; lastValue: unknown; error?: ProgramError };

/**
 * Runs a program without its writes. The answer of a write is unknown, and so is everything that depends on it.
 * - A read is made if its arguments are known and a run would certainly make the read.
 * - A write is not made. It is listed with its arguments, and the list says whether the caller may make the write.
 * - A read after a write is made without the effect of the write. If the read is refused, its answer is unknown.
 */
export async function dryRun(
  { steps, calls }: Pick<Checked, "calls" | "steps">,
  context: InvocationContext,
  { explain, session = new Map(), boundRoutes, follower, onCall }: RunProgramOptions,
): Promise<DryRun> {
  const holds = await heldIn([...calls.values()], context);
  const caller = openCaller(calls, context, { boundRoutes, follower, onCall });
  const rehearsal = new Rehearsal(caller, context, onCall);
  const writes = (call: Call): boolean => caller.checkedCall(call).fn.route.access === "write";
  const outcome = await runSteps(steps, {
    perform: (effect) => rehearsal.perform(effect),
    concurrency: readsAtOnce,
    writes,
    session,
    mayBeUnknown: true,
  });
  const last = lastValueOf(steps, outcome);
  const { value } = describeUnknowns(outcome.failure ? null : last.value);
  const diagnostic = programFailure(outcome, caller.checkedCall, context) ?? resultTooLarge(value, last.at);
  return {
    calls: [...calls.values()].map((call) => ({
      ...declared(call),
      held: holds(call),
      ...rehearsal.describe(call, outcome.results.filter((result) => result.call === call.call).length),
    })),
    lastValue: diagnostic ? null : value,
    ...(diagnostic ? { error: explain(diagnostic) } : {}),
  };
}

const declared = ({ index, call, fn: { route } }: CheckedCall) => ({
  index,
  function: call.name,
  ...call.at,
  access: route.access,
  capability: route.capability,
});

/** Makes the reads of a dry run, and plans its writes. */
class Rehearsal {
  readonly #caller: Caller;
  readonly #context: InvocationContext;
  readonly #onCall: RunProgramOptions["onCall"];
  readonly #calls = new Map<Call, Rehearsed>();
  readonly #room = new ResultRoom();
  #hasWritten = false;

  constructor(caller: Caller, context: InvocationContext, onCall: RunProgramOptions["onCall"]) {
    this.#caller = caller;
    this.#context = context;
    this.#onCall = onCall;
  }

  /** Describes a call in the program's text. `count` says how often the dry run reached the call. */
  describe({ call, fn }: CheckedCall, count: number): Pick<DryCall, "count" | "may_differ" | "planned"> {
    const { isUnsure, mayDiffer, planned } = this.#calls.get(call) ?? notReached;
    return {
      count: isUnsure ? null : count,
      ...(mayDiffer ? { may_differ: true } : {}),
      ...(fn.route.access === "write" ? { planned } : {}),
    };
  }

  async perform(effect: CallEffect): Promise<unknown> {
    const { call, isUnsure } = effect;
    const checked = this.#caller.checkedCall(call);
    const rehearsed = this.#calls.get(call) ?? { ...notReached, planned: [] };
    this.#calls.set(call, rehearsed);
    rehearsed.isUnsure ||= isUnsure;
    const isAfterWrite = this.#hasWritten;
    if (checked.fn.route.access === "write") {
      this.#hasWritten = true;
      await this.#caller.throwIfStopped(call);
      // A write that is not made has the score 1.
      this.#onCall?.(scoreUnit);
      rehearsed.planned.push(await this.#plan(effect, checked, isAfterWrite));
      return unknownValue;
    }
    rehearsed.mayDiffer ||= isAfterWrite;
    if (isUnsure || [...effect.args.values()].some(isPartlyUnknown)) return unknownValue;
    try {
      return await this.#caller.perform(effect);
    } catch (error) {
      if (isAfterWrite && isRefusal(error)) return unknownValue;
      throw error;
    }
  }

  async #plan({ call, args }: CallEffect, { fn }: CheckedCall, isAfterWrite: boolean): Promise<PlannedWrite> {
    const values = Object.fromEntries(args);
    const { bytes } = sizeOf(values);
    if (bytes > plannedBytes) {
      const message = `The arguments have ${bytes} bytes. A dry run neither shows nor checks arguments of more than ${plannedBytes} bytes.`;
      return { arguments: { omitted_bytes: bytes, message }, allowed: null };
    }
    const { value, unknown } = describeUnknowns(values);
    const shown = { arguments: this.#room.take(value) };
    if (unknown.length > 0) return { ...shown, unknown, allowed: null };
    const refusedBy = (error: Refusal, mayChange: boolean): Pick<PlannedWrite, "allowed" | "error"> => {
      const { code, message } = diagnosticOf(error, { call, args, error }, this.#caller.checkedCall, this.#context);
      return { allowed: mayChange ? null : false, error: { code, message } };
    };
    try {
      const { refusal, ...rehearsed } = await rehearse(rehearsable(fn), inputOf(fn, args), this.#context);
      const outcome = refusal === undefined ? { allowed: true } : refusedBy(refusal, isAfterWrite);
      return { ...shown, ...labelAndPreview(fn.route, rehearsed), ...outcome };
    } catch (error) {
      if (!isRefusal(error)) throw error;
      return { ...shown, ...refusedBy(error, isAfterWrite && dependsOnWrites(error)) };
    }
  }
}

/**
 * The route that a dry run rehearses. A function for the session writes to the session's own rows, which a rehearsal
 * does not protect. So the run of such a function is left out, and only its input and the caller are checked.
 */
const rehearsable = ({ route, usesSession }: CodeFunction): Route =>
  usesSession ? { ...route, run: async () => undefined } : route;

/**
 * The label of the resource that a write would change, if the caller may see the resource, and the preview of the
 * write.
 */
function labelAndPreview(
  { capability }: Route,
  { found, permissions, preview }: Omit<RehearsedCall, "refusal">,
): Pick<PlannedWrite, "label" | "preview"> {
  const isSeen = capability !== null && found && covers(permissions, viewCapability(capability), found.scopes);
  return {
    ...(isSeen && found.label !== undefined ? { label: found.label } : {}),
    ...(preview === undefined ? {} : { preview }),
  };
}

type Refusal = InvalidInput | Problem;

/**
 * Whether an error refuses only this call, unlike an exhausted rate limit or a failure of the API. A dry run lists the
 * refusal of a write, and ignores the refusal of a read after a write. All other errors end the dry run. The error
 * `read_only` has the status 503, but refuses only writes.
 */
const isRefusal = (error: unknown): error is Refusal =>
  error instanceof InvalidInput ||
  (error instanceof Problem && (error.code === "read_only" || error.status < 500) && error.code !== "rate_limited");

/**
 * Whether an earlier write of the program can remove the reason why validation or authorization refuses a call. This is
 * so only if a resource is missing: the write may create the resource.
 */
const dependsOnWrites = (error: Refusal): boolean =>
  error instanceof Problem ? error.code === "not_found" : error.errors.every(({ type }) => type === "not_found");

/** The largest size of a write's arguments that a dry run shows and checks, in bytes. */
const plannedBytes = 262_144;

/** The most unknown parts of a value that are named. */
const namedUnknowns = 20;

type Path = (string | number)[];

/**
 * Replaces the unknown parts of a value by null. Also returns the paths of the first 20 unknown parts, such as
 * `domains[2]`.
 */
function describeUnknowns(value: unknown): { value: unknown; unknown: string[] } {
  const unknown: string[] = [];
  const read = (part: unknown, path: Path): unknown => {
    if (part === unknownValue) {
      if (unknown.length < namedUnknowns) unknown.push(formatPath(path));
      return null;
    }
    if (Array.isArray(part)) return part.map((item, index) => read(item, [...path, index]));
    if (typeof part !== "object" || part === null) return part;
    return Object.fromEntries(Object.entries(part).map(([name, member]) => [name, read(member, [...path, name])]));
  };
  return { value: read(value, []), unknown };
}

/**
 * Looks up the caller's permissions in the accounts that are known before the run. The returned function tells whether
 * the caller holds the capability of a call. It returns null in two cases:
 * - The account is known only during the run.
 * - The caller holds the capability for only some resources of the account.
 */
async function heldIn(
  calls: readonly CheckedCall[],
  context: InvocationContext,
): Promise<(call: CheckedCall) => boolean | null> {
  const accounts = new Set(calls.flatMap(({ account }) => account ?? []));
  const permissions = new Map(
    await Promise.all([...accounts].map(async (id) => [id, await permissionsOf(id, context)] as const)),
  );
  return ({ fn, account = "" }) => isHeld(fn.route, permissions.get(account));
}

function isHeld(route: Route, permissions: Permissions | undefined): boolean | null {
  const isInAccount = Object.hasOwn(route.params.shape, "account_id");
  if (route.public || (!isInAccount && permissions === undefined)) return true;
  if (permissions === undefined) return null;
  return { all: true, some: null, none: false }[reachOf(route, permissions)];
}
