import { appendFileSync, existsSync, readFileSync } from 'node:fs'

export interface Mail {
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly link?: string
}

/** Stands for a mail server: mails go to the terminal and into a file, one line each. */
export class Outbox {
  readonly #file: string

  constructor(file: string) {
    this.#file = file
  }

  send(mail: Mail): void {
    appendFileSync(this.#file, `${JSON.stringify(mail)}\n`)
    console.log(`mail to ${mail.to}: ${mail.subject}\n  ${mail.text} ${mail.link ?? ''}`)
  }

  /** The newest first. */
  mails(): Mail[] {
    if (!existsSync(this.#file)) return []
    const lines = readFileSync(this.#file, 'utf8').trimEnd().split('\n')
    return lines.map((line) => JSON.parse(line) as Mail).reverse()
  }
}
