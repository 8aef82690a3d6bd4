import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { isIPv6 } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import type { Engine } from '../core/engine.ts'
import { inside } from '../core/inside.ts'
import { WaitpointError } from '../api/errors.ts'
import type { ConsoleOptions } from '../console/options.ts'
import {
  type OptionNames,
  requireName,
  requireObject,
  requireOptions,
  requireWhole,
} from '../primitives/require.ts'
import { messageOf } from '../primitives/message.ts'
import { Connections } from './connections.ts'
import { createAnswer, type HandlerOptions, readBasePath } from './create-handler.ts'
import type { Connection } from './live-request.ts'
import { badRequest } from './node-listener.ts'

/** Options of `serve`; all have defaults. */
export interface ServeOptions extends HandlerOptions {
  /**
   * The port to listen on; 0 is any that is free.
   *
   * @default `0`
   */
  readonly port?: number
  /**
   * The address to listen on. `127.0.0.1` is reached from this machine only.
   *
   * @default `'127.0.0.1'`
   */
  readonly hostname?: string
  /**
   * The console of the engine at `/console`, below the base path; or its options, without `basePath`. Its visitors log in with
   * a secret key of the engine.
   *
   * @default `false`
   */
  readonly console?: boolean | Omit<ConsoleOptions, 'basePath'>
}

/** A running server. It keeps the process alive until it is closed. */
export interface HttpServer extends AsyncDisposable {
  /** The address of the server, base path included. Token URLs begin with it. */
  readonly url: string
  /**
   * Finishes the requests it has received, cuts subscriptions (clients can resume them), closes all connections, and
   * resolves when the port is free. Clients that have not received their answers after 30 s are disconnected.
   */
  close(): Promise<void>
}

const NAMES: OptionNames<ServeOptions> = {
  port: true,
  hostname: true,
  basePath: true,
  limits: true,
  answerPage: true,
  renderQuestion: true,
  console: true,
}

/**
 * Serves an engine over HTTP on Node. Unless the engine has a `baseUrl`, the URLs of its tokens point to this server.
 * See docs/http-api.md.
 *
 * @throws WaitpointError `ERR_LISTEN_FAILED`; TypeError or RangeError for options that cannot be used.
 *
 * @example
 * ```ts
 * const server = await serve(engine, { port: 3000 })
 * console.log(`curl -X POST ${token.url}`)
 * await server.close()
 * ```
 */
export async function serve(engine: Engine, options: ServeOptions = {}): Promise<HttpServer> {
  requireOptions(options, 'the options of serve', NAMES)
  const { port = 0, hostname = '127.0.0.1', console: consoleOption = false, ...handlerOptions } = options
  // An empty hostname would listen on every network interface.
  requireName(hostname, 'hostname')
  requireWhole(port, 'port', { from: 0, to: 65_535 })
  const answer = await withConsole(engine, createAnswer(engine, handlerOptions), {
    option: consoleOption,
    path: `${readBasePath(options.basePath)}/console`,
  })
  const door = inside(engine)
  // The globals stay as they are: the process belongs to the application.
  const listener = getRequestListener((request, { incoming }) => answer(request, connections.of(incoming)), {
    hostname,
    overrideGlobalObjects: false,
    errorHandler: badRequest,
  })
  // The adapter answers its own failures.
  const server = createServer((request, response) => void listener(request, response))
  const connections = new Connections(server, door.host)
  const actualPort = await listen(server, { port, hostname })
  server.on('error', (error) => door.report(error))

  const url = `http://${reachable(hostname)}:${actualPort}${readBasePath(options.basePath)}`
  const forgetUrl = door.credentials.listensOn(url)
  let closed: Promise<void> | undefined
  const close = (): Promise<void> => {
    forgetUrl()
    return (closed ??= connections.close())
  }
  return { url, close, [Symbol.asyncDispose]: close }
}

/** Answers a request, with its connection. */
type Answer = (request: Request, connection?: Connection) => Promise<Response>

/** Puts the console in front of the handler. Its code is loaded by servers that have one. */
async function withConsole(
  engine: Engine,
  answer: Answer,
  { option, path }: { readonly option: ServeOptions['console']; readonly path: string },
): Promise<Answer> {
  if (option === false || option === undefined) return answer
  if (option !== true) requireObject(option, 'console')
  const { createConsoleAnswer } = await import('../console/handler.ts')
  const pages = createConsoleAnswer(engine, { ...(option === true ? {} : option), basePath: path })
  return (request, connection) => {
    const { pathname } = new URL(request.url)
    const isPage = pathname === path || pathname.startsWith(`${path}/`)
    return isPage ? pages(request, connection) : answer(request, connection)
  }
}

interface ListenAddress {
  readonly port: number
  readonly hostname: string
}

/** Starts listening and returns the port. */
async function listen(server: Server, { port, hostname }: ListenAddress): Promise<number> {
  try {
    const listening = once(server, 'listening')
    server.listen(port, hostname)
    await listening
  } catch (cause) {
    const reason = messageOf(cause)
    throw new WaitpointError('ERR_LISTEN_FAILED', `Cannot listen on "${hostname}:${port}": ${reason}`, {
      cause,
    })
  }
  const address = server.address()
  return typeof address === 'object' && address !== null ? address.port : port
}

/** The host part of a URL that reaches a server on `hostname` from this machine. */
function reachable(hostname: string): string {
  if (hostname === '0.0.0.0') return '127.0.0.1'
  if (hostname === '::') return '[::1]'
  return isIPv6(hostname) ? `[${hostname}]` : hostname
}
