export { waitpoint, type HostedNamesPlugin } from './cli/loading/vitest-plugin.ts'
