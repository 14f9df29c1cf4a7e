/** An array of elements; float16 and bfloat16 are their bits. */
export type TypedArray =
  | Uint8Array | Int8Array | Int16Array | Uint16Array | Int32Array | Uint32Array
  | BigInt64Array | BigUint64Array | Float32Array | Float64Array;

export type DType =
  | "uint8" | "int8" | "int16" | "uint16" | "int32" | "uint32" | "int64" | "uint64"
  | "float16" | "bfloat16" | "float32" | "float64" | "bool";

/** Elements in order of the dimensions, the last varying fastest. */
export interface Tensor {
  data: TypedArray;
  sizes: number[];
}

export interface OutputTensor extends Tensor {
  dtype: DType;
}

/** Numbers in rows: [[1, 2], [3, 4]] has the sizes [2, 2]. */
export type NestedNumbers = (number | bigint | NestedNumbers)[];

export type Input = Tensor | TypedArray | NestedNumbers | number | bigint | boolean | null;
export type Output = OutputTensor | bigint | boolean | number | null;

export interface Port {
  name: string;
  kind: "tensor" | "int" | "bool" | "double" | "none" | "list";
  /** Of a tensor. */
  dtype?: DType;
  /** Of a tensor; the largest sizes if `isDynamic`. */
  sizes?: number[];
  /** Sizes of calls may be smaller. */
  isDynamic?: boolean;
  /** The method writes this input. */
  isMutable?: boolean;
}

export interface Method {
  name: string;
  /** Its outputs are fixed: Program.constants() reads them. */
  isConstant: boolean;
  inputs: Port[];
  outputs: Port[];
}

/** What etx refused, with its message. */
export class EtxError extends Error {}

/** Runs methods on a state of its own. */
export class Session {
  private constructor();
  run(method: string, inputs?: Record<string, Input> | Input[]): Record<string, Output>;
  states(): Record<string, OutputTensor>;
  reset(): void;
  seed(seed: number | bigint): void;
  truncate(length: number | bigint): void;
  save(): Uint8Array;
  restore(snapshot: ArrayBuffer | ArrayBufferView): void;
  close(): void;
}

/** A program file in memory. */
export class Program {
  private constructor();
  readonly methods: Method[];
  readonly memory: { total: number; sessions: number };
  constants(method: string): Record<string, Output>;
  session(): Session;
  close(): void;
}

export interface LoadOptions {
  /** etx.wasm: a URL, its bytes or a module. By default the file beside etx.mjs. */
  wasm?: string | URL | BufferSource | WebAssembly.Module;
  /** Sessions that are open at the same time, 1 by default. */
  sessions?: number;
}

export function load(file: ArrayBuffer | ArrayBufferView, options?: LoadOptions): Promise<Program>;
