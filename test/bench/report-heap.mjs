import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc");

// On SIGUSR2, the process that loads this module prints the bytes of its live objects, which is its heap after a full
// collection.
process.on("SIGUSR2", () => {
  collect();
  process.stderr.write(`live heap: ${process.memoryUsage().heapUsed}\n`);
});
