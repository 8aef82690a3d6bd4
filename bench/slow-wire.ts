import { fork } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** The argument that makes `main` a wire. */
export const WIRE_FLAG = '--wire'

/** Another way to a server, on which everything takes longer. */
export interface SlowWire {
  /** Its process, unless it is none. */
  readonly pid?: number | undefined
  readonly url: string
  close(): Promise<void>
}

/** Lays a wire to the server of a URL, in a process of its own: everything arrives so many milliseconds later. */
export async function laySlowWire(target: string, lagMs: number): Promise<SlowWire> {
  const [, main = ''] = process.argv
  const child = fork(main, [WIRE_FLAG, target, String(lagMs)])
  // `serveWire` sends it from the other end.
  const [port] = (await once(child, 'message')) as [number]
  const url = new URL(target)
  url.port = String(port)
  return {
    pid: child.pid,
    url: String(url),
    async close() {
      const exit = once(child, 'exit')
      child.disconnect()
      await exit
    },
  }
}

/** The main function of the process of a wire. It ends when its parent disconnects. */
export async function serveWire([target = '', lagMs = '0']: readonly string[]): Promise<void> {
  const { hostname, port } = new URL(target)
  const wire = createServer((client) => {
    const server = connect(Number(port), hostname)
    carry(client, server, Number(lagMs))
    carry(server, client, Number(lagMs))
  })
  wire.listen(0, '127.0.0.1')
  await once(wire, 'listening')
  process.on('disconnect', () => process.exit())
  process.send?.((wire.address() as AddressInfo).port)
}

/** Timers of one length fire in the order in which they were set. */
function carry(from: Socket, to: Socket, lagMs: number): void {
  from.setNoDelay()
  from.on('data', (bytes) => setTimeout(() => to.write(bytes), lagMs))
  const cut = (): void => void to.destroy()
  from.on('error', cut).on('close', cut)
}
