import fc from 'fast-check'

const SEED = process.env['WAITPOINT_PROPERTY_SEED']

// Runs before each test file: properties draw their cases from the seed that was asked for, else from a new one each time.
if (SEED !== undefined) fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(SEED) })
