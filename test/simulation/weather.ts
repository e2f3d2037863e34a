import type { Random } from "./random.ts";

/**
 * How rough a schedule is. Each schedule draws its own weather, so some schedules have no fault and others have many.
 * `processes` is the largest number of processes at once. `fault`, `death` and `clock` are probabilities at each step:
 * of a fault, of a death, and of a jump of the clock by up to `longestMs`.
 */
type Weather = { processes: number; fault: number; death: number; clock: number; longestMs: number };

export const drawWeather = (random: Random): Weather => ({
  processes: random.between(1, 6),
  fault: random.pick([0, 0.02, 0.1, 0.3]),
  death: random.pick([0, 0.01, 0.05]),
  clock: random.pick([0.01, 0.1]),
  longestMs: random.pick([1_000, 60_000, 86_400_000]),
});
