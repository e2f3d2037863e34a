import type { Resolver } from "../../dns/answer.ts";

/** The result of checking how the parent zone delegates a name. */
export type DelegationState = {
  /** Whether the name is delegated to our nameservers only; undefined if the check failed. */
  verified: boolean | undefined;
  observed: string[];
  message: string;
};

const joinNames = (names: readonly string[]): string => names.join(" and ");

/** Asks the parent zone whether a name is delegated to exactly these nameservers. */
export async function delegationState(
  resolver: Resolver,
  name: string,
  expected: readonly string[],
): Promise<DelegationState> {
  const found = await resolver.delegation(name);
  if (found.status === "unknown") {
    return { verified: undefined, observed: [], message: `The delegation could not be checked: ${found.reason}.` };
  }
  if (found.status === "absent") {
    return { verified: false, observed: [], message: `${name} is not registered. Register it, and then delegate it.` };
  }
  if (found.status === "none") {
    return {
      verified: false,
      observed: [],
      message: `${name} is not delegated. Set its nameservers to ${joinNames(expected)}.`,
    };
  }
  const observed = [...found.nameservers];
  const missing = expected.filter((host) => !observed.includes(host));
  const unexpected = observed.filter((host) => !expected.includes(host));
  if (missing.length === 0 && unexpected.length === 0)
    return { verified: true, observed, message: "The domain is delegated to us." };
  const messages = [
    ...(missing.length === 0 ? [] : [`add ${joinNames(missing)}`]),
    ...(unexpected.length === 0 ? [] : [`remove ${joinNames(unexpected)}`]),
  ];
  return { verified: false, observed, message: `At the registrar of ${name}, ${messages.join(" and ")}.` };
}
