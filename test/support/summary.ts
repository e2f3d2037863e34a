import type { Reporter, TestModule } from "vitest/node";

/** Prints the line that CI reads at the end of a run: `N passed, N failed`, and `, N skipped` if tests were skipped. */
export default class Summary implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    const count = { passed: 0, failed: unhandledErrors.length, skipped: 0, pending: 0 };
    for (const module of modules) {
      if (module.errors().length > 0) count.failed += 1;
      for (const test of module.children.allTests()) count[test.result().state] += 1;
    }
    if (count.failed > 0)
      process.stdout.write(`To repeat the samples of this run: TEST_SEED=${process.env["TEST_SEED"]} npm run vitest\n`);
    const skipped = count.skipped > 0 ? `, ${count.skipped} skipped` : "";
    process.stdout.write(`${count.passed} passed, ${count.failed + count.pending} failed${skipped}\n`);
  }
}
