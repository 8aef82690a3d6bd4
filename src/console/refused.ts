/** Ends a request with a page that says why. */
export class Refused extends Error {
  readonly status: number
  /** What the reader can do now. */
  readonly advice: string

  constructor(status: number, message: string, advice = '') {
    super(message)
    this.name = 'Refused'
    this.status = status
    this.advice = advice
  }
}
