type Query = { page: number; page_size: number };
type Page<Item> = { data: { items: Item[]; total: number } };

const pageSize = 100;

/**
 * Yields every item of a list, and fetches each page when it is needed:
 * `for await (const mailbox of itemsOf((query) => api.mailboxes.list({ path: { account_id }, query })))`.
 */
export async function* itemsOf<Item>(list: (query: Query) => Promise<Page<Item>>): AsyncGenerator<Item, void> {
  for (let page = 1; ; page++) {
    const { items, total } = (await list({ page, page_size: pageSize })).data;
    yield* items;
    if (items.length === 0 || page * pageSize >= total) return;
  }
}
