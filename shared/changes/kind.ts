import type * as z from "zod";

import type { Capability } from "../auth/capabilities.ts";

/** What may stand in a change's before and after: the public view of a resource, which never has a secret. */
type View = Record<string, unknown>;

/** A kind of resource whose changes are recorded and published, as `<name>.<verb>`. */
export type Kind = {
  name: string;
  verbs: readonly string[];
  /** The resource's public schema: what it does not name is never recorded. */
  view: z.ZodObject;
  /** The members that its entity tag is made of, where the view has more than its own state. */
  own?: z.ZodObject;
  /** Takes out of the view what others than the caller must not read: for the record and the events. */
  redact?: (view: View) => View;
  /** The capability on the whole account without which nobody is told of these changes. */
  seenWith: Capability;
};

/** Declares a kind; its resource's own file does. */
export const defineKind = <const V extends string>(kind: Omit<Kind, "verbs"> & { verbs: readonly V[] }) => kind;

/** One change of one resource, as it is recorded and published. */
export type Change = {
  /** The event type: `workspace.created`. */
  type: string;
  resource: { type: string; id: string };
  before: View | null;
  after: View | null;
  /** The resource as it was before, to compare with what the caller last saw. */
  seen?: object;
};

/** The change of the resource `id` from `before` to `after`; one of them is absent when it came or went. */
export function change<const V extends string>(
  kind: Omit<Kind, "verbs"> & { verbs: readonly V[] },
  verb: V,
  id: string,
  { before, after }: { before?: object; after?: object },
): Change {
  const { redact = (view: View) => view } = kind;
  const viewed = (state: object | undefined): View | null => (state ? redact(kind.view.parse(state)) : null);
  return {
    type: `${kind.name}.${verb}`,
    resource: { type: kind.name, id },
    before: viewed(before),
    after: viewed(after),
    ...(before ? { seen: before } : {}),
  };
}
