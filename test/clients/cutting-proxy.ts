import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A bad line to a server. */
export interface CuttingProxy extends AsyncDisposable {
  readonly url: string
  /** How many connections it has cut so far. */
  readonly cuts: number
  /** Cuts every connection that is open now. */
  cut(): void
}

interface CutOptions {
  /** How much comes through a connection before it is cut. Default: it is cut only when told. */
  readonly afterBytes?: number
  /** How many connections are cut so. Default: all. */
  readonly atMost?: number
}

/** A proxy before the server at `url`. */
export async function cuttingProxy(
  url: string,
  { afterBytes = Infinity, atMost = Infinity }: CutOptions = {},
): Promise<CuttingProxy> {
  const { hostname, port } = new URL(url)
  const open = new Set<Socket>()
  let cuts = 0

  const cutOff = (socket: Socket): void => {
    if (!open.delete(socket)) return
    cuts += 1
    socket.resetAndDestroy()
  }

  const server = createServer((near) => {
    const far = connect(Number(port), hostname)
    let bytes = 0
    let isOver = false
    open.add(near)
    near.on('data', (data) => far.write(data))
    far.on('data', (data: Buffer) => {
      if (isOver) return
      const left = afterBytes - bytes
      bytes += data.length
      isOver = bytes >= afterBytes && cuts < atMost
      // The last bytes arrive before the line goes dead, in the middle of whatever it is; nothing comes after them.
      if (isOver) near.write(data.subarray(0, left), () => cutOff(near))
      else near.write(data)
    })
    for (const [one, other] of [[near, far] as const, [far, near] as const]) {
      one.on('error', () => other.destroy())
      one.on('close', () => {
        open.delete(near)
        other.destroy()
      })
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get cuts() {
      return cuts
    },
    cut: () => [...open].forEach(cutOff),
    [Symbol.asyncDispose]: async () => {
      for (const socket of open) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
