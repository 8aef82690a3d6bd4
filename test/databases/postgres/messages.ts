/** The types of messages of the server, as its protocol numbers them. */
const NOTIFICATION = 'A'.charCodeAt(0)
const READY_FOR_QUERY = 'Z'.charCodeAt(0)
/** The type, and the length that counts itself. */
const HEAD = 5

export interface Heard {
  /** What goes on to the client: whole messages. */
  readonly bytes: Buffer
  /** Whether the server awaits questions now. */
  readonly isReady: boolean
}

/** Reads what a server sends, message by message, and leaves out what others notify of while it is deaf. */
export function withoutNotifications(isDeaf: () => boolean): (sent: Buffer) => Heard {
  let rest: Buffer = Buffer.alloc(0)
  return (sent) => {
    rest = Buffer.concat([rest, sent])
    const heard: Buffer[] = []
    let isReady = false
    while (rest.length >= HEAD) {
      const end = 1 + rest.readInt32BE(1)
      if (rest.length < end) break
      const message = rest.subarray(0, end)
      rest = rest.subarray(end)
      isReady ||= message[0] === READY_FOR_QUERY
      if (message[0] !== NOTIFICATION || !isDeaf()) heard.push(message)
    }
    return { bytes: Buffer.concat(heard), isReady }
  }
}
