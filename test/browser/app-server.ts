import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'

/** A page that is served with what it is given. */
export interface AppServer extends AsyncDisposable {
  /** The address of a page. With `isRendered` its components are in its text. */
  readonly page: (given: Readonly<Record<string, unknown>>, isRendered?: boolean) => string
  /** How often a page asked for an access token. */
  readonly asked: () => number
}

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

/** Serves the page of `page/app.tsx` with one version of React, and access tokens for it. */
export async function serveApp(version: 18 | 19, access: () => Promise<string>): Promise<AppServer> {
  const script = (await bundled(version, { entry: 'page/app-main.tsx', platform: 'browser' })).text
  const folder = await mkdtemp(join(tmpdir(), 'waitpoint-app-'))
  const file = join(folder, 'render.mjs')
  await bundled(version, { entry: 'page/app-render.tsx', platform: 'node', outfile: file })
  const { render } = (await import(/* @vite-ignore */ pathToFileURL(file).href)) as {
    readonly render: (given: unknown) => string
  }
  const pages: string[] = []
  let asked = 0
  const server = createServer((request, response) => {
    const url = request.url ?? ''
    if (url === '/access') {
      asked += 1
      void access().then((token) => response.end(token))
      return
    }
    response.setHeader('content-type', url === '/main.js' ? 'text/javascript' : 'text/html')
    response.end(url === '/main.js' ? script : pages[Number(url.slice(1))])
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    asked: () => asked,
    page: (given, isRendered = false) => {
      const all = { ...given, access: '/access' }
      const root = isRendered ? render(all) : ''
      const count = pages.push(
        `<!doctype html><meta charset="utf-8"><title>App</title><div id="root">${root}</div><script>const GIVEN = ${JSON.stringify(all)}</script><script type="module" src="/main.js"></script>`,
      )
      return `http://127.0.0.1:${port}/${count - 1}`
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      await rm(folder, { recursive: true, force: true })
    },
  }
}

interface Bundle {
  readonly entry: string
  readonly platform: 'browser' | 'node'
  readonly outfile?: string
}

async function bundled(version: 18 | 19, { entry, platform, outfile }: Bundle): Promise<{ text: string }> {
  const name = (plain: string): string => here(`node_modules/${plain}${version === 18 ? '-18' : ''}`)
  const { outputFiles } = await build({
    entryPoints: [here(entry)],
    bundle: true,
    format: 'esm',
    platform,
    // Of the package and of the page it is one React.
    alias: {
      react: name('react'),
      'react-dom': name('react-dom'),
      'waitpoint/react': here('../../src/react.ts'),
    },
    jsx: 'automatic',
    // StrictMode takes components away and puts them back only while one develops.
    define: { 'process.env.NODE_ENV': '"development"' },
    banner: platform === 'node' ? { js: REQUIRE } : {},
    logLevel: 'silent',
    ...(outfile === undefined ? { write: false } : { outfile }),
  })
  return { text: outputFiles?.[0]?.text ?? '' }
}

const REQUIRE = `import { createRequire } from 'node:module'; const require = createRequire('/');`
