import type { Resolver } from "../../dns/answer.ts";

/** The delegation of a name by its parent zone, as far as it could be found out. */
export type DelegationState = {
  /** Whether the name is delegated to our nameservers only; undefined when it could not be found out. */
  verified: boolean | undefined;
  observed: string[];
  message: string;
};

const listed = (names: readonly string[]): string => names.join(" and ");

/** Asks the parent zone whether a name is delegated to exactly these nameservers. */
export async function delegationState(
  resolver: Resolver,
  name: string,
  expected: readonly string[],
): Promise<DelegationState> {
  const found = await resolver.delegation(name);
  if (found.status === "unknown") {
    return { verified: undefined, observed: [], message: `It could not be found out now: ${found.reason}.` };
  }
  if (found.status === "absent") {
    return { verified: false, observed: [], message: `${name} is not registered: register it, then delegate it.` };
  }
  if (found.status === "none") {
    return {
      verified: false,
      observed: [],
      message: `${name} is not delegated: set its nameservers to ${listed(expected)}.`,
    };
  }
  const observed = [...found.nameservers];
  const missing = expected.filter((host) => !observed.includes(host));
  const others = observed.filter((host) => !expected.includes(host));
  if (missing.length === 0 && others.length === 0)
    return { verified: true, observed, message: "It is delegated to us." };
  const messages = [
    ...(missing.length === 0 ? [] : [`add ${listed(missing)}`]),
    ...(others.length === 0 ? [] : [`remove ${listed(others)}`]),
  ];
  return { verified: false, observed, message: `At the registrar of ${name}, ${messages.join(" and ")}.` };
}
