/** The data of an answer, with its HTTP response. */
export interface WithResponse<Data> {
  data: Data;
  /** The HTTP response, for example for its header `ETag`. The response's body has already been read. */
  response: Response;
  /** The request's id. Quote it when you ask about the request. */
  requestId: string | undefined;
}

/** The answer of a function: a promise of its data. */
export class ApiPromise<Data> implements Promise<Data> {
  readonly [Symbol.toStringTag] = "ApiPromise";
  readonly #send: () => Promise<WithResponse<Data>>;
  #sent: Promise<WithResponse<Data>> | undefined;

  /** `send` is called once: when the caller first asks for the answer. */
  constructor(send: () => Promise<WithResponse<Data>>) {
    this.#send = send;
  }

  /** The data together with the HTTP response. */
  withResponse(): Promise<WithResponse<Data>> {
    return (this.#sent ??= this.#send());
  }

  // oxlint-disable-next-line unicorn/no-thenable -- This is a promise.
  then<Result1 = Data, Result2 = never>(
    onFulfilled?: ((data: Data) => Result1 | PromiseLike<Result1>) | null,
    onRejected?: ((reason: unknown) => Result2 | PromiseLike<Result2>) | null,
  ): Promise<Result1 | Result2> {
    return this.withResponse()
      .then(({ data }) => data)
      .then(onFulfilled, onRejected);
  }

  catch<Result = never>(
    onRejected?: ((reason: unknown) => Result | PromiseLike<Result>) | null,
  ): Promise<Data | Result> {
    return this.then(undefined, onRejected);
  }

  finally(onFinally?: (() => void) | null): Promise<Data> {
    return this.then().finally(onFinally);
  }
}

/** A list. Use `await` for its answer, or `for await` for its items one after the other. */
export class List<Item, Answer> extends ApiPromise<Answer> implements AsyncIterable<Item> {
  readonly #items: () => AsyncGenerator<Item, void>;

  constructor(send: () => Promise<WithResponse<Answer>>, items: () => AsyncGenerator<Item, void>) {
    super(send);
    this.#items = items;
  }

  /** Yields the items of all pages. Fetches a page when its first item is needed. */
  [Symbol.asyncIterator](): AsyncGenerator<Item, void> {
    return this.#items();
  }
}

/** One page of a list. */
export type Page<Answer> = Answer & {
  /** Whether there is another page after this page. */
  readonly hasNextPage: boolean;
  /** Fetches the next page. Undefined after the last page. */
  nextPage(): Promise<Page<Answer> | undefined>;
};

/** A list in pages. Use `await` for its first page, or `for await` for the items of all pages. */
export type PagedList<Item, Answer> = List<Item, Page<Answer>>;
