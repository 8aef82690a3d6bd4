/** Writes one line for each step; on a terminal also a last line that changes. */
export class Screen {
  readonly isTerminal: boolean = process.stdout.isTTY
  readonly #startedAt = Date.now()

  /** One step, with the time since the start. */
  step(text: string): void {
    const seconds = ((Date.now() - this.#startedAt) / 1000).toFixed(1)
    this.#write(`${seconds.padStart(5)} s  ${text}\n`)
  }

  /** More about the step before. */
  detail(text: string): void {
    this.#write(`         ${text}\n`)
  }

  /** What goes on right now, until the next line. */
  status(text: string): void {
    if (this.isTerminal)
      this.#write(`         ${text.slice(0, Math.max(process.stdout.columns || 80, 20) - 10)}`)
  }

  #write(text: string): void {
    process.stdout.write(this.isTerminal ? `\r\u001b[2K${text}` : text)
  }
}
