import type { Inside } from '../../core/inside.ts'
import { type Caller, readCaller } from './caller.ts'
import type { Limits } from '../limits.ts'
import { countUpload, mayBeLarge } from '../requests/body.ts'
import { OpenSubscriptions } from './open-subscriptions.ts'
import { OpenUploads } from './open-uploads.ts'
import { RequestRate } from './request-rate.ts'
import { SpentTokens } from './spent-tokens.ts'

/**
 * The entry of every request. It reads nothing of the request and looks nothing up before the credential and the
 * request rate are checked.
 */
export class Gate {
  /** The open subscriptions. Each route that opens a subscription counts it here. */
  readonly subscriptions: OpenSubscriptions
  readonly #inside: Inside
  readonly #rate: RequestRate | undefined
  readonly #spent = new SpentTokens()
  readonly #uploads: OpenUploads

  constructor(inside: Inside, { rate, subscriptions, uploadBytes }: Limits) {
    const { host } = inside
    this.#inside = inside
    this.#rate = rate === undefined ? undefined : new RequestRate(rate, () => host.now())
    this.subscriptions = new OpenSubscriptions(subscriptions)
    this.#uploads = new OpenUploads(uploadBytes)
  }

  /**
   * Opens the engine if needed, and returns the caller. An access token for one use that is used up may only repeat the
   * request that used it, to get its answer again.
   *
   * @throws Refusal 401 without a credential that proves something; 429 for a request too many.
   */
  async enter(request: Request, isRepetition: (caller: Caller) => boolean = never): Promise<Caller> {
    await this.#inside.open(isReading(request))
    const caller = await readCaller(request, this.#inside)
    if (caller.onceUntil !== undefined && !isRepetition(caller)) this.#spent.refuse(caller.credential)
    this.#rate?.count(caller.credential)
    if (!caller.hasSecretKey) this.#countBody(request, caller.credential)
    return caller
  }

  /**
   * Admits a request whose address is itself a credential. `proves` throws if the address is wrong. Only valid
   * addresses are counted, because invented ones would fill the memory.
   */
  async enterBy(request: Request, credential: string, proves: () => void): Promise<void> {
    await this.#inside.open(isReading(request))
    proves()
    this.#rate?.count(credential)
    this.#countBody(request, credential)
  }

  #countBody(request: Request, credential: string): void {
    if (mayBeLarge(request)) countUpload(request, (bytes) => this.#uploads.begin(credential, bytes))
  }

  /**
   * Uses up an access token that may be used once. If `use` fails, the token stays valid.
   *
   * @throws Refusal 401 for one that is used up.
   */
  async spending<T>({ credential, onceUntil: expiresAt }: Caller, use: () => Promise<T>): Promise<T> {
    if (expiresAt === undefined) return use()
    const giveBack = this.#spent.spend(credential, { expiresAt, now: this.#inside.host.now() })
    try {
      return await use()
    } catch (error) {
      giveBack()
      throw error
    }
  }
}

/** Whether a request changes nothing: an engine that closes still answers it. */
export function isReading({ method }: Request): boolean {
  return method === 'GET' || method === 'HEAD'
}

function never(): boolean {
  return false
}
