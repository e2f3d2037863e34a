import type { Random } from "./random.ts";
import type { Actor, World } from "./world.ts";

/** What an actor does for one of the accounts of a schedule. */
export type Act<Scene> = (scene: Scene, world: World, random: Random, accountId: string) => Promise<unknown>;

/**
 * Makes actors, by name, weight and what they do. What a caller may get for an answer is noted in the trace; whatever
 * else is thrown is a mistake.
 */
export const actingIn =
  <Scene extends { accounts: readonly string[] }>(scene: Scene, isAnswer: (error: unknown) => error is Error) =>
  (name: string, weight: number, act: Act<Scene>): Actor => ({
    name,
    weight,
    run: async (world, random) => {
      try {
        await act(scene, world, random, random.pick(scene.accounts));
        world.note("done");
      } catch (error) {
        if (!isAnswer(error)) throw error;
        world.note(`learns: ${error.message}`);
      }
    },
  });

/** Most schedules do much of a few things that get in each other's way, a theme, and little of the rest. */
export function mixed(actors: readonly Actor[], themes: readonly (readonly string[])[], random: Random): Actor[] {
  const theme = random.pick(themes);
  return actors.map((actor) => ({ ...actor, weight: actor.weight + (theme.includes(actor.name) ? 20 : 0) }));
}
