import type { World } from "./world.ts";

/** Thrown by a process that is dead. None of its calls has an effect any more. */
export class Death extends Error {}

/** The world of a process that dies after `commits` transactions. It does not learn that the last one succeeded. */
export function mortal(world: World, commits: number): World {
  let left = commits;
  const alive = async <T>(call: () => Promise<T>): Promise<T> => {
    if (left <= 0) throw new Death();
    return call();
  };
  const { table } = world;
  return {
    ...world,
    pause: (point, steps) => alive(() => world.pause(point, steps)),
    table: {
      get: (key, schema) => alive(() => table.get(key, schema)),
      glimpse: (key, schema) => alive(() => table.glimpse(key, schema)),
      getMany: (keys) => alive(() => table.getMany(keys)),
      between: (...range) => alive(() => table.between(...range)),
      attempt: (write) => alive(() => table.attempt(write)),
      commit: (plan) =>
        alive(async () => {
          const value = await table.commit(plan);
          left -= 1;
          if (left <= 0) throw new Death();
          return value;
        }),
    },
  };
}
