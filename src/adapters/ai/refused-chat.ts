/** A request that is answered with an error, before anything has changed. */
export class RefusedChat extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}
