/*
 * The process that runs the tests loads this module before anything else. After a new choice, the process begins again.
 */
import { isNewChoice, newChoice } from "./choice.ts";
import { beginAgain } from "./switch.ts";

process.on("message", (message: object) => {
  if (!isNewChoice(message)) return;
  beginAgain();
  process.send?.(newChoice);
});
