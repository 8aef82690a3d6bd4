import type { Kernel } from '../../core/kernel.ts'
import { type Caller, readCaller } from './caller.ts'
import type { Limits } from '../limits.ts'
import { OpenSubscriptions } from './open-subscriptions.ts'
import { RequestRate } from './request-rate.ts'
import { SpentTokens } from './spent-tokens.ts'

/**
 * Where every request comes in: nothing of it is read, and nothing looked up, before it is known who sends it and that
 * they may ask once more.
 */
export class Gate {
  /** The subscriptions that are open, to be counted by whoever opens one. */
  readonly subscriptions: OpenSubscriptions
  readonly #kernel: Kernel
  readonly #rate: RequestRate | undefined
  readonly #spent = new SpentTokens()

  constructor(kernel: Kernel, { rate, subscriptions }: Limits) {
    const { host } = kernel
    this.#kernel = kernel
    this.#rate = rate === undefined ? undefined : new RequestRate(rate, () => host.now())
    this.subscriptions = new OpenSubscriptions(subscriptions)
  }

  /**
   * Opens the engine if need be; answers who asks.
   *
   * @throws Refusal 401 without a credential that proves something; 429 for a request too many.
   */
  async enter(request: Request): Promise<Caller> {
    await this.#kernel.open()
    const caller = await readCaller(request, this.#kernel)
    this.#rate?.count(caller.credential)
    return caller
  }

  /**
   * The same for an address that is a credential itself; `proves` says whether it is right, and throws otherwise. Only
   * then is it counted: what anybody can make up is nothing to remember.
   */
  async enterBy(credential: string, proves: () => void): Promise<void> {
    await this.#kernel.open()
    proves()
    this.#rate?.count(credential)
  }

  /**
   * Does what an access token for one use is for. One that fails has not been used.
   *
   * @throws Refusal 401 for one that is used up.
   */
  async spending<T>({ credential, onceUntil: expiresAt }: Caller, use: () => Promise<T>): Promise<T> {
    if (expiresAt === undefined) return use()
    const giveBack = this.#spent.spend(credential, { expiresAt, now: this.#kernel.host.now() })
    try {
      return await use()
    } catch (error) {
      giveBack()
      throw error
    }
  }
}
