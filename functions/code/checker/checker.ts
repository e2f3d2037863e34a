import type { CodeFunction } from "../catalogue/code-function.ts";
import { scoreLimit, scoreUnit } from "../catalogue/cost.ts";
import type { Mistake } from "../language/mistake.ts";
import { clip } from "../language/sentences.ts";
import type { Call, Program, Statement } from "../language/syntax.ts";
import { callsIn } from "../language/walk.ts";
import { Inspection } from "./inspect.ts";
import type { Surroundings } from "./variables.ts";

/** A call whose function exists, and its place among the calls in the order in which they are made. */
export type Site = {
  index: number;
  call: Call;
  fn: CodeFunction;
  /** The account it is about, where that is known before the program runs. */
  account?: string | undefined;
};

/** A statement that may run. */
export type Step = {
  statement: Statement;
  sites: Site[];
  /** The statement that gave each variable it uses its value; undefined for the session's. */
  needs: Map<string, number | undefined>;
  /** Whether it changes something. */
  writes: boolean;
};

/** Every mistake in a program; when there is none, its steps may run. */
export type Checked = { steps: Step[]; sites: Map<Call, Site>; mistakes: Mistake[]; score: number };

/**
 * Checks a program and runs nothing: its functions, their arguments as far as they are literal, its variables, the
 * members of results, and what it may cost.
 */
export function check({ statements }: Program, surroundings: Surroundings): Checked {
  const { catalogue } = surroundings;
  const inspection = new Inspection(surroundings);
  const checked: Checked = { steps: [], sites: new Map(), mistakes: [], score: 0 };
  for (const [place, statement] of statements.entries()) {
    const calls = callsIn(statement.value);
    const sites = calls.flatMap((call): Site[] => {
      const fn = catalogue.get(call.name);
      if (!fn) return [];
      const site: Site = { index: checked.sites.size, call, fn };
      checked.sites.set(call, site);
      return [site];
    });
    if (calls.length === 0 && statement.target === undefined && place < statements.length - 1) {
      inspection.complaints.add("no_effect", statement.at, () => withoutEffect(statement));
    }
    const needs = inspection.statement(statement, place);
    for (const site of sites) site.account = inspection.accounts.get(site.call);
    const writes = sites.some(({ fn }) => fn.route.access === "write");
    checked.steps.push({ statement, sites, needs, writes });
  }
  return withScore(checked, inspection);
}

function withScore(checked: Checked, { complaints: { mistakes }, units }: Inspection): Checked {
  const [first] = checked.sites.keys();
  const score = units / scoreUnit;
  if (mistakes.length > 0) return { ...checked, mistakes };
  if (score <= scoreLimit || !first) return { ...checked, score };
  const shown = Number.isFinite(score) ? score : "beyond all bounds";
  const message = `The program's complexity score is ${shown}; ${scoreLimit} is the most. Ask for fewer or smaller pages, or go over fewer items.`;
  return { ...checked, score, mistakes: [{ code: "score_too_high", message, at: first.at }] };
}

const withoutEffect = ({ value }: Statement): string =>
  `This line does nothing: give its value a name, \`x = ${value.kind === "name" ? clip(value.name) : "…"}\`, or put it last to have it answered as last_value.`;
