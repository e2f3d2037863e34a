import type { Deployed, Statement } from "./template.ts";

/** Something that a function or a service does in AWS. `keys` are the partitions that it reaches in DynamoDB. */
export type Call = { action: string; resource: string; keys?: readonly string[] };

/** Something that a role does not allow. */
export type Denial = Call & { by: string; role: string };

/** Whether a text matches a pattern of IAM: `*` stands for any characters, `?` for one. */
function isLike(text: string, pattern: string): boolean {
  const escaped = pattern.replaceAll(/[.+^${}()|[\]\\]/g, String.raw`\$&`);
  return new RegExp(`^${escaped.replaceAll("*", "[^]*").replaceAll("?", "[^]")}$`).test(text);
}

/** Whether the conditions of a statement hold. Throws for a condition that this evaluation does not know. */
function holds(conditions: Statement["conditions"], keys: readonly string[]): boolean {
  return Object.entries(conditions).every(([operator, tests]) => {
    const { "dynamodb:LeadingKeys": patterns, ...others } = tests;
    if (operator !== "ForAllValues:StringLike" || patterns === undefined || Object.keys(others).length > 0) {
      throw new Error(`The test does not know the condition ${JSON.stringify({ [operator]: tests })}`);
    }
    return keys.every((key) => patterns.some((pattern) => isLike(key, pattern)));
  });
}

/**
 * Decides by the roles of a template, as IAM does: a call is allowed if one statement of the role has its action and
 * its resource, and the conditions of the statement hold. Remembers which rights were used, and every denial.
 */
export class Rights {
  readonly denials: Denial[] = [];
  readonly #statements = new Map<string, Statement[]>();
  readonly #used = new Set<string>();

  constructor(template: Deployed) {
    for (const [role] of template.ofType("AWS::IAM::Role")) this.#statements.set(role, template.statementsOf(role));
  }

  /** Whether `role` allows a call. `by` names the function or service that calls. */
  check(by: string, role: string, { action, resource, keys = [] }: Call): boolean {
    const allowing = (this.#statements.get(role) ?? []).find(
      ({ actions, resources, conditions }) =>
        actions.some((pattern) => isLike(action.toLowerCase(), pattern.toLowerCase())) &&
        resources.some((pattern) => isLike(resource, pattern)) &&
        holds(conditions, keys),
    );
    if (allowing) this.#used.add(`${role} ${allowing.policy} ${action}`);
    else this.denials.push({ by, role, action, resource, keys });
    return allowing !== undefined;
  }

  /** The denials as text, one a line, each kind once. */
  report(): string[] {
    const lines = this.denials.map(({ by, role, action, resource, keys = [] }) => {
      const kinds = [...new Set(keys.map(kindOf))].join(", ");
      const partitions = kinds === "" ? "" : ` (${kinds})`;
      return `${by} may not ${action} on ${resource}${partitions}, says ${role}`;
    });
    return [...new Set(lines)];
  }

  /** The rights that no call has used, by role: `ReadRole table dynamodb:Query`. */
  unused(): string[] {
    const all = [...this.#statements].flatMap(([role, statements]) =>
      statements.flatMap(({ policy, actions }) => actions.map((action) => `${role} ${policy} ${action}`)),
    );
    return [...new Set(all)].filter((right) => !this.#used.has(right)).toSorted();
  }

  /** The rights of a policy that no role has used: `files s3:PutObject`. */
  unusedByAll(): string[] {
    const withoutRole = (right: string): string => right.slice(right.indexOf(" ") + 1);
    const used = new Set([...this.#used].map(withoutRole));
    return [...new Set(this.unused().map(withoutRole))].filter((right) => !used.has(right));
  }
}

/** `ACCOUNT#0000…` → `ACCOUNT#…`: a partition without its id. */
const kindOf = (key: string): string => key.replace(/#.*/, "#…");
