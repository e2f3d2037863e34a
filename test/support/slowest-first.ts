import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * Files that take many times as long as others, the slowest first. If one of these files began last, the run would wait
 * for this file alone.
 */
const slowest = [
  "infra/local/main",
  "browser/playground",
  "browser/verify",
  "browser/docs",
  "browser/pages",
  "infra/smoke/smoke",
  "infra/restore/rehearse",
  "infra/local/events/webhooks",
  "infra/cli/cli",
  "infra/client/client",
  "functions/workers/advance-domains",
  "infra/build/bundle",
  "infra/cdk/unchanged",
  "faults",
  "simulation/simulation",
  "routes",
  "lists",
  "contract",
  "tenants",
  "functions/dedicated-ips/domains/assign",
  "budgets",
  "shared/core/etag",
  "functions/code/callable-functions",
  "shared/table/failures",
].map((name) => `/test/${name}.test.ts`);

const placeOf = ({ moduleId }: TestSpecification): number => {
  const place = slowest.findIndex((name) => moduleId.endsWith(name));
  return place < 0 ? slowest.length : place;
};

/**
 * Orders the files the same way on any machine, even in the first run: by project, and in each project the slowest
 * first.
 */
export default class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const projects = [...new Set(files.map(({ project }) => project.name))].toSorted((one, other) =>
      one < other ? -1 : 1,
    );
    // oxlint-disable-next-line unicorn/no-array-sort -- this `sort` is a method of the sequencer, not of an array
    const inOrder = (await super.sort(files)).toSorted((one, other) => placeOf(one) - placeOf(other));
    return projects.flatMap((name) => inOrder.filter(({ project }) => project.name === name));
  }
}
