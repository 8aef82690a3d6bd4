import type { CancelTimer } from '../../contract/clock.ts'
import type { Unsubscribe } from '../../contract/storage.ts'
import { defined } from '../../primitives/defined.ts'
import { type OptionNames, requireOptions } from '../../primitives/require.ts'
import { TAG_NAMES, wantedTags } from '../../api/tag-filter.ts'
import type { RetrievedToken, SubscribeToTokensParams, Token, TokenLinks } from '../../api/token.ts'
import { OTHERS_TOPIC } from '../changes/publisher.ts'
import { Watcher } from '../changes/watchers.ts'
import type { Kernel } from '../kernel.ts'
import { alone, Reading } from '../reading/reading.ts'
import { nextChange } from '../reading/run-changes.ts'
import { listOf } from './list-of.ts'
import { listTokens } from './token-list.ts'

const NAMES: OptionNames<SubscribeToTokensParams> = /* @__PURE__ */ Object.assign({ limit: true }, TAG_NAMES)
const TOPIC = 'tokens'
/** A storage may not tell what other processes do to a token that no run waits for, and a hint may be lost: that is found this late. */
const LOOK_MS = 10_000
/** A token or a run of another process has changed: it may wait for a new token, or for one no longer. Many of them are one look. */
const SOON_MS = 100

/** `wait.subscribeToTokens`. */
export function subscribeToTokens(
  kernel: Kernel,
  params: SubscribeToTokensParams,
): AsyncIterable<readonly (Token & TokenLinks)[]> {
  return {
    [Symbol.asyncIterator]: () =>
      new Reading({
        watch: () => kernel.watchers.open(new TokenWatcher(kernel, withTags(params))),
        read: (watcher) => waitingTokens(kernel, params, watcher),
        items: alone,
      }),
  }
}

/** `wait.subscribeToToken`. */
export function subscribeToToken<Output>(
  kernel: Kernel,
  id: string,
  retrieve: () => Promise<RetrievedToken<Output> & TokenLinks>,
): AsyncIterable<RetrievedToken<Output> & TokenLinks> {
  return {
    [Symbol.asyncIterator]: () =>
      new Reading({
        watch: () => kernel.watchers.open(new TokenWatcher(kernel, (token) => token.id === id)),
        read: (watcher) => statesOf(kernel, retrieve, watcher),
        items: alone,
      }),
  }
}

/** @throws TypeError or RangeError for options that cannot be used. */
function withTags(params: SubscribeToTokensParams): (token: Token) => boolean {
  requireOptions(params, 'the options of wait.subscribeToTokens', NAMES)
  const wanted = listOf(wantedTags(params), 'tags')
  return ({ tags }) => wanted?.some((tag) => tags.includes(tag)) ?? true
}

async function* statesOf<Output>(
  kernel: Kernel,
  retrieve: () => Promise<RetrievedToken<Output> & TokenLinks>,
  watcher: Watcher,
): AsyncGenerator<RetrievedToken<Output> & TokenLinks> {
  let shown: string | undefined
  try {
    for (;;) {
      const token = await retrieve()
      meet(kernel, token)
      const now = shownOf(token)
      if (now !== shown) yield token
      shown = now
      if (token.status !== 'WAITING') return
      await nextChange(kernel, 'a token', watcher)
    }
  } finally {
    watcher.close()
  }
}

/** The engine that has set the deadline may be gone. */
function meet({ ticker }: Kernel, { id, status, timeoutAt }: Token): void {
  if (status === 'WAITING') ticker.dueAt(+timeoutAt, 'token', id)
}

/** What tells a state of a token from its last one. */
function shownOf({ id, status, timeoutAt, question }: Token): string {
  return JSON.stringify([id, status, +timeoutAt, question?.approvers])
}

async function* waitingTokens(
  kernel: Kernel,
  { limit, ...filter }: SubscribeToTokensParams,
  watcher: Watcher,
): AsyncGenerator<readonly (Token & TokenLinks)[]> {
  let shown: string | undefined
  try {
    for (;;) {
      const waiting = { status: 'WAITING', ...defined({ tags: wantedTags(filter), limit }) } as const
      const { data } = await listTokens(kernel, waiting)
      for (const token of data) meet(kernel, token)
      const now = data.map(shownOf).join()
      if (now !== shown) yield data
      shown = now
      await nextChange(kernel, 'tokens that wait', watcher)
    }
  } finally {
    watcher.close()
  }
}

/** Is woken by each token it is for that this engine creates, changes or settles, and now and then. */
class TokenWatcher extends Watcher {
  readonly #kernel: Kernel
  readonly #unsubscribe: Unsubscribe
  #cancelLook: CancelTimer | undefined
  #isSoon = false

  constructor(kernel: Kernel, isMeant: (token: Token) => boolean) {
    super(kernel.watchers, [TOPIC, OTHERS_TOPIC])
    this.#kernel = kernel
    this.#unsubscribe = kernel.events.on('token', (token) => {
      if (isMeant(token)) this.wake(TOPIC)
    })
  }

  override changed(): Promise<void> {
    if (!this.#isSoon) this.#lookIn(LOOK_MS)
    return super.changed()
  }

  override wake(topic: string): void {
    if (topic !== OTHERS_TOPIC) super.wake(topic)
    else if (!this.#isSoon) {
      this.#isSoon = true
      this.#lookIn(SOON_MS)
    }
  }

  #lookIn(ms: number): void {
    const { clock } = this.#kernel.host
    const look = (): void => {
      this.#isSoon = false
      this.wake(TOPIC)
    }
    this.#cancelLook?.()
    const about = { label: 'tokens that are followed', background: true }
    this.#cancelLook = clock.setTimer(clock.now() + ms, look, about)
  }

  override close(): void {
    this.#cancelLook?.()
    this.#unsubscribe()
    super.close()
  }
}
