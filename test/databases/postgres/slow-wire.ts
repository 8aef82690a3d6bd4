import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { pauseReal } from '../../../src/storage/real-timer.ts'

/** How many of the things that are sent are held up. */
const SHARE = 0.2

/**
 * Lays a wire to a server on which now and then something is held up, for up to `mostMs`, in either direction: answers come
 * in any order, as from a machine that is busy with other things. It ends with this process. Answers the URL of its other end.
 */
export async function slowWire(url: string, mostMs: number): Promise<string> {
  const shown = new URL(url)
  const { port, hostname } = new URL(url)
  const wire = createServer((client) => {
    const server = connect(Number(port), hostname)
    const end = (): void => {
      client.destroy()
      server.destroy()
    }
    for (const side of [client, server]) side.on('error', end).on('close', end).setNoDelay()
    pass(client, server, mostMs)
    pass(server, client, mostMs)
  })
  wire.listen(0, '127.0.0.1').unref()
  await once(wire, 'listening')
  // Listening on a port, not on a path.
  shown.port = String((wire.address() as AddressInfo).port)
  return String(shown)
}

/** What comes from one side goes to the other, in order. */
function pass(from: Socket, to: Socket, mostMs: number): void {
  let passed = Promise.resolve()
  from.on('data', (bytes) => {
    const ms = Math.random() < SHARE ? Math.random() * mostMs : 0
    passed = passed.then(async () => {
      if (ms > 0) await pauseReal(ms)
      if (!to.destroyed) to.write(bytes)
    })
  })
}
