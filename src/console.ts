export { createConsole } from './console/handler.ts'
export type { Console } from './console/handler.ts'
export type { ConsoleAction, ConsoleOptions } from './console/options.ts'
