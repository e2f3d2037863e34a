import type { Random } from "./random.ts";
import type { Actor, World } from "./world.ts";

/** The work of an actor for one account of a schedule. */
export type Act<Scene> = (scene: Scene, world: World, random: Random, accountId: string) => Promise<unknown>;

/**
 * Makes an actor from a name, a weight and its work. Errors that a caller may get are noted in the trace. Any other
 * error is a mistake, and is thrown.
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

/**
 * Adds weight to the actors of one theme. A theme is a few kinds of work that can conflict with one another. The other
 * actors of the schedule run rarely.
 */
export function mixed(actors: readonly Actor[], themes: readonly (readonly string[])[], random: Random): Actor[] {
  const theme = random.pick(themes);
  return actors.map((actor) => ({ ...actor, weight: actor.weight + (theme.includes(actor.name) ? 20 : 0) }));
}
