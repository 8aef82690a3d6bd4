import { Refusal } from '../refusal.ts'

/** The bytes of the bodies that each credential is sending. */
export class OpenUploads {
  readonly #mostBytes: number
  readonly #bytes = new Map<string, number>()

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes
  }

  /**
   * Counts a body in. The returned function counts it out again; it must be called once. One body is always received.
   *
   * @throws Refusal 429 when the credential sends as much as it may send at once.
   */
  begin(credential: string, bytes: number): () => void {
    const open = this.#bytes.get(credential) ?? 0
    if (open > 0 && open + bytes > this.#mostBytes) {
      const message = `Cannot receive the request body: this credential is sending ${open} bytes already`
      throw new Refusal(429, message, { headers: { 'retry-after': '1' } })
    }
    this.#bytes.set(credential, open + bytes)
    return () => {
      const left = (this.#bytes.get(credential) ?? 0) - bytes
      if (left > 0) this.#bytes.set(credential, left)
      else this.#bytes.delete(credential)
    }
  }
}
