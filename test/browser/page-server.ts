import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

/** The page of an application: it comes from a server of its own, so that the engine is another origin to it. */
export interface PageServer extends AsyncDisposable {
  /** The address of the page with what it is given. */
  page(given: Readonly<Record<string, string>>): string
}

/** Bundles the page and serves it on a free port of this machine. */
export async function servePage(): Promise<PageServer> {
  const html =
    '<!doctype html><meta charset="utf-8"><title>Review</title><body><script type="module" src="main.js"></script>'
  const script = await bundledPage()
  const server = createServer(({ url = '' }, response) => {
    const isScript = url.startsWith('/main.js')
    response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html')
    response.end(isScript ? script : html)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    page: (given) => `http://127.0.0.1:${port}/?${new URLSearchParams(given).toString()}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function bundledPage(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL('page/main.tsx', import.meta.url))],
    bundle: true,
    format: 'esm',
    write: false,
    // What writes streams in Node is in the same package; a page never gets there.
    external: ['node:*'],
    define: { 'process.env.NODE_ENV': '"production"' },
    logLevel: 'silent',
  })
  return outputFiles[0]?.text ?? ''
}
