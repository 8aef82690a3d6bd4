import type { Run, Token } from 'waitpoint'

const EVERY_BYTES = 1_048_576

/** Writes the review to standard output: the text as it arrives, and progress lines on a terminal. */
export class Screen {
  readonly #bytes: number
  readonly #startedAt = Date.now()
  readonly #timeline: string[] = []
  #characters = 0
  #read = 0
  #shownAt = 0

  constructor(bytes: number) {
    this.#bytes = bytes
  }

  text(chunk: string): void {
    process.stdout.write(chunk)
    this.#characters += chunk.length
    this.#read += Buffer.byteLength(chunk)
    if (this.#characters - this.#shownAt >= EVERY_BYTES) this.progress()
  }

  /** On standard error, so that a pipe receives only the text. */
  progress(): void {
    this.#shownAt = this.#characters
    const share = this.#bytes === 0 ? 100 : Math.min(100, Math.round((this.#read / this.#bytes) * 100))
    process.stderr.write(`\n… draft: ${this.#characters} characters, ${share} % of ${this.#bytes} bytes\n`)
  }

  line(text: string): void {
    process.stdout.write(`${text}\n`)
  }

  record(entry: string): void {
    this.#timeline.push(`${String(Date.now() - this.#startedAt).padStart(6)} ms  ${entry}`)
  }

  run({ status }: Run): void {
    this.record(`run    ${status}`)
  }

  token({ status, tags }: Token): void {
    this.record(`token  ${status} [${tags.join(', ')}]`)
  }

  timeline(): void {
    this.line(['timeline', ...this.#timeline].join('\n'))
  }
}
