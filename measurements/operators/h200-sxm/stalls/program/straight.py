# ruff: noqa: E501
"""Writes a CUDA program that times straight code of many lengths, in a loop."""

print("#include <cuda_runtime.h>\n#include <stdio.h>")
sizes = [256, 512, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384]
for n in sizes:
    print(
        f"__global__ void __launch_bounds__(1024) k{n}(float* o,float a,float b,int t,long long* c){{float x[8];for(int i=0;i<8;++i)x[i]=a*i+threadIdx.x;long long s=clock64();\n#pragma unroll 1\nfor(int j=0;j<t;++j){{"
    )
    print(f"#pragma unroll\nfor(int i=0;i<{n // 8};++i){{")
    for i in range(8):
        print(f'asm volatile("fma.rn.f32 %0,%0,%1,%2;":"+f"(x[{i}]):"f"(a),"f"(b));')
    print("}}")
    print(
        "long long e=clock64();float y=0;for(int i=0;i<8;++i)y+=x[i];if(y==1.2345f)o[0]=y;if(threadIdx.x==0)c[blockIdx.x]=e-s;}"
    )
print(
    'int main(){float*o;long long*c;cudaMalloc(&o,4096);cudaMalloc(&c,132*16*8);long long h[132*16];printf("code,warps,blocks_per_sm,clocks_per_instruction\\n");'
)
print("int ws[][2]={{1,1},{4,1},{16,1},{32,1},{4,4},{4,8},{4,14}};for(auto&w:ws){")
for n in sizes:
    print(
        f'{{int t=262144/{n}/4;if(t<2)t=2;int nb=132*w[1];int sh=w[1]==1?120000:w[1]==4?50000:w[1]==8?26000:15000;cudaFuncSetAttribute(k{n},cudaFuncAttributeMaxDynamicSharedMemorySize,130000);for(int r=0;r<3;++r)k{n}<<<nb,32*w[0],sh>>>(o,1.0001f,.5f,t,c);cudaError_t e=cudaDeviceSynchronize();cudaMemcpy(h,c,nb*8,cudaMemcpyDeviceToHost);double s=0;for(int i=0;i<nb;++i)s+=h[i];printf("{n},%d,%d,%.3f %s\\n",w[0],w[1],s/nb/t/{n},e?cudaGetErrorString(e):"");}}'
    )
print("}return 0;}")
