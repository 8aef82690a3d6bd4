import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * The path of the file that this code is in, which may be a bundle. It is told by the stack: in CommonJS there is no
 * `import.meta`. Code without a file, as that of `eval`, counts as a file of the working directory.
 */
export function ownFile(): string {
  const { stackTraceLimit } = Error
  const prepare: unknown = Reflect.get(Error, 'prepareStackTrace')
  try {
    Error.stackTraceLimit = 1
    Error.prepareStackTrace = (_, [caller]) => caller?.getFileName()
    const file = new Error('here').stack ?? ''
    if (file.startsWith('file:')) return fileURLToPath(file)
    return /^([\\/]|[a-z]:)/i.test(file) ? file : join(process.cwd(), 'code')
  } finally {
    Reflect.set(Error, 'prepareStackTrace', prepare)
    Error.stackTraceLimit = stackTraceLimit
  }
}
