import type * as z from "zod";

import type { Capability } from "../auth/capabilities.ts";

/** The public view of a resource before or after a change. It never contains a secret. */
type PublicView = Record<string, unknown>;

/** A kind of resource whose changes are recorded and published. The type of a change is `<name>.<verb>`. */
export type Kind = {
  name: string;
  verbs: readonly string[];
  /** The resource's public schema. Only its members are recorded. */
  view: z.ZodObject;
  /** The members that the entity tag covers. Absent if the entity tag covers the whole `view`. */
  own?: z.ZodObject;
  /** Removes the parts that not everybody who sees the changes may read. A view is recorded without these parts. */
  redact?: (view: PublicView) => PublicView;
  /** The capability on the whole account that a caller needs to subscribe a webhook to these changes. */
  seenWith: Capability;
};

/** Declares a kind. Each kind is declared in the file of its resource. */
export const defineKind = <const V extends string>(kind: Omit<Kind, "verbs"> & { verbs: readonly V[] }) => kind;

/** One change of one resource, as it is recorded and published. */
export type Change = {
  /** The event type: `workspace.created`. */
  type: string;
  resource: { type: string; id: string };
  before: PublicView | null;
  after: PublicView | null;
  /** The whole resource before the change, to compare with the caller's `If-Match`. */
  current?: object;
};

/**
 * Builds the change of the resource `id` from `before` to `after`. A created resource has no `before`, a deleted
 * resource no `after`.
 */
export function change<const V extends string>(
  kind: Omit<Kind, "verbs"> & { verbs: readonly V[] },
  verb: V,
  id: string,
  { before, after }: { before?: object; after?: object },
): Change {
  const { redact = (view: PublicView) => view } = kind;
  const viewed = (state: object | undefined): PublicView | null => (state ? redact(kind.view.parse(state)) : null);
  return {
    type: `${kind.name}.${verb}`,
    resource: { type: kind.name, id },
    before: viewed(before),
    after: viewed(after),
    ...(before ? { current: before } : {}),
  };
}
