import { readWords } from "../../infra/openapi/command-line.ts";
import { fuzzCode } from "./code.ts";

const usage = `Usage: npm run fuzz [-- count [seed]]

Runs generated programs in code mode, a million if no count is given, and prints the results.
Exits with 1 if a program is too slow, or if the heap is too large.`;
const [count = 1_000_000, seed = Date.now() % 1_000_000] = readWords(usage, 2).map((word) => {
  if (/^\d{1,9}$/.test(word)) return Number(word);
  process.stderr.write(`"${word}" is not a whole number.\n${usage}\n`);
  return process.exit(2);
});
const [slowMs, heapMiB] = [50, 400];

const chunk = 50_000;
let [done, parsed, ran, slowestMs, slowest, heap] = [0, 0, 0, 0, "", 0];
const startedAt = performance.now();
while (done < count) {
  const found = await fuzzCode(Math.min(chunk, count - done), seed + done);
  done += found.programs;
  parsed += found.parsed;
  ran += found.ran;
  if (found.slowestMs > slowestMs) [slowestMs, slowest] = [found.slowestMs, found.slowest];
  heap = Math.max(heap, process.memoryUsage().heapUsed / 1_048_576);
  process.stderr.write(`${done} programs, slowest ${slowestMs.toFixed(1)} ms, heap at most ${heap.toFixed(0)} MiB\n`);
}
const seconds = Math.round((performance.now() - startedAt) / 1000);
process.stdout.write(
  `seed ${seed}: ${done} programs in ${seconds} s, ${parsed} parsed, ${ran} ran; slowest ${slowestMs.toFixed(1)} ms: ${JSON.stringify(slowest)}; heap at most ${heap.toFixed(0)} MiB\n`,
);
if (slowestMs > slowMs || heap > heapMiB) process.exit(1);
