import { mailedKey } from "../../shared/mail/forwarding/target.ts";
import { write } from "./domain-work.ts";
import { agreedRule, mailed, ruleTo, stranger } from "./forwarding.ts";
import { home } from "./mailboxes.ts";
import type { Account } from "./world.ts";

type Example = Record<string, unknown>;

const named = async (account: Account): Promise<Example> => ({
  account_id: account.id,
  forwarding_id: (await ruleTo(account, stranger())).id,
});

/** The arguments with which each route of forwarding succeeds for the account's owner. */
export const forwardingExamples: Record<string, (account: Account) => Promise<Example>> = {
  "forwarding.list": async (account) => {
    const { name: domain } = await home(account);
    await agreedRule(account, stranger(), { domain });
    return { account_id: account.id, domain, active: true };
  },
  "forwarding.add": async (account) => ({
    account_id: account.id,
    target_email: stranger(),
    domain: (await home(account)).name,
  }),
  "forwarding.update": async (account) => ({ ...(await named(account)), target_email: stranger("bob") }),
  "forwarding.activate": async (account) => ({ ...(await named(account)), active: false }),
  "forwarding.get": named,
  "forwarding.delete": named,
  "forwarding.verification.send": async (account) => {
    const target = stranger();
    const { id } = await ruleTo(account, target);
    // Removes the mark of the last mail, as if that mail was sent long ago.
    await write({ delete: mailedKey(target) });
    return { account_id: account.id, forwarding_id: id };
  },
  "forwarding.verification.confirm": async (account) => {
    const rule = await ruleTo(account, stranger());
    const { code } = await mailed(account, rule);
    return { account_id: account.id, forwarding_id: rule.id, code };
  },
  "forwarding.verify": async (account) => {
    const rule = await ruleTo(account, stranger());
    const { token } = await mailed(account, rule);
    return { token };
  },
};
