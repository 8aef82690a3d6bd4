/** A module as a loader of Node has it. */
export interface LoadedModule {
  readonly format?: string | null | undefined
  readonly source?: unknown
}

/**
 * A module of a project, with the names of CommonJS that it uses and does not declare: task files have them in the hosted
 * service, which bundles them. No line of the source moves.
 *
 * Before Node 22.15 it is sent to the thread of loaders as text, so it refers to nothing outside of itself.
 */
export function withCommonJsNames<Loaded extends LoadedModule>(url: string, loaded: Loaded): Loaded {
  const { format, source } = loaded
  if (
    !url.startsWith('file:') ||
    url.includes('/node_modules/') ||
    format?.startsWith('module') !== true ||
    !source
  )
    return loaded
  const text = typeof source === 'string' ? source : new TextDecoder().decode(source as Uint8Array)
  const values = {
    require: 'waitpointRequire(import.meta.url)',
    __filename: 'import.meta.filename',
    __dirname: 'import.meta.dirname',
  }
  const missing = Object.entries(values).filter(([name]) => {
    const word = `(?<![\\w$.])${name}(?![\\w$])`
    const declaration = `\\b(?:const|let|var|function|class|import)\\b[^=;()'"\`]*${word}`
    return new RegExp(word).test(text) && !new RegExp(declaration).test(text)
  })
  if (missing.length === 0) return loaded
  const [names, given] = [missing.map(([name]) => name), missing.map(([, value]) => value)]
  const imported = `import { createRequire as waitpointRequire } from 'node:module'`
  const declared = `var [${names.join()}] = [${given.join()}]`
  return { ...loaded, source: `${imported}; ${declared}; ${text}` }
}
