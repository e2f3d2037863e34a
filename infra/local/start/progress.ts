/** Where progress is shown. */
export type Screen = { isTTY?: boolean; write: (text: string) => unknown };

const width = 30;
const everyMs = 200;
const number = new Intl.NumberFormat("en");

function inWords(seconds: number): string {
  if (!Number.isFinite(seconds)) return "";
  return seconds < 90 ? `, ${Math.ceil(seconds)} s left` : `, ${Math.round(seconds / 60)} min left`;
}

/** Shows how far something is: on a terminal as a bar that moves, elsewhere as a line for each tenth. */
export function progressOn(screen: Screen, { of, unit }: { of: number; unit: string }, now = () => performance.now()) {
  const startedAt = now();
  let begunWith: number | undefined;
  let drawnAt = Number.NEGATIVE_INFINITY;
  let tenths = 0;
  return (count: number): void => {
    begunWith ??= count;
    const share = Math.min(count / of, 1);
    const elapsed = now() - startedAt;
    const left = inWords(((of - count) * elapsed) / (count - begunWith) / 1000);
    const text = `${number.format(count)} of ${number.format(of)} ${unit}`;
    if (!screen.isTTY) {
      if (Math.floor(share * 10) <= tenths) return;
      tenths = Math.floor(share * 10);
      screen.write(`${text}${count < of ? left : ""}\n`);
      return;
    }
    if (count < of && now() - drawnAt < everyMs) return;
    drawnAt = now();
    const bar = "█".repeat(Math.round(share * width)).padEnd(width, "░");
    screen.write(`\r\u001B[K${bar} ${text}${count < of ? left : "\n"}`);
  };
}
