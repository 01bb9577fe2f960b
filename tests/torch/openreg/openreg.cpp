/*
 * openreg.cpp - a minimal torch device.
 *
 * Its memory is the machine's own, but a separate device to torch. Operators that it does not
 * implement are computed on the CPU. It does not need Python: a C++ program that finds
 * openreg_register() by an entry point has the device, too.
 */
#include <cstdlib>

#include <ATen/EmptyTensor.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/resize_native.h>
#include <ATen/ops/view_native.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>

namespace
{

constexpr c10::DeviceType type = c10::DeviceType::PrivateUse1;

struct Memory final : c10::Allocator {
	c10::DataPtr allocate(size_t size) override
	{
		void *data = size ? std::malloc(size) : nullptr;

		return {data, data, std::free, c10::Device(type, 0)};
	}
	c10::DeleterFnPtr raw_deleter() const override
	{
		return std::free;
	}
	void copy_data(void *to, const void *from, size_t size) const override
	{
		default_copy_data(to, from, size);
	}
};

Memory memory;

/* One device with one stream. */
struct Guard final : c10::impl::DeviceGuardImplInterface {
	c10::DeviceType type() const override
	{
		return ::type;
	}
	c10::Device exchangeDevice(c10::Device) const override
	{
		return getDevice();
	}
	c10::Device getDevice() const override
	{
		return {::type, 0};
	}
	void setDevice(c10::Device) const override
	{
	}
	void uncheckedSetDevice(c10::Device) const noexcept override
	{
	}
	c10::Stream getStream(c10::Device device) const override
	{
		return c10::Stream(c10::Stream::DEFAULT, device);
	}
	c10::Stream exchangeStream(c10::Stream stream) const override
	{
		return stream;
	}
	c10::DeviceIndex deviceCount() const noexcept override
	{
		return 1;
	}
};

at::Tensor empty(c10::SymIntArrayRef size, std::optional<at::ScalarType> dtype,
                 std::optional<at::Layout>, std::optional<at::Device>, std::optional<bool>,
                 std::optional<at::MemoryFormat> format)
{
	return at::detail::empty_generic(C10_AS_INTARRAYREF_SLOW(size), &memory,
	                                 c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
	                                 c10::dtype_or_default(dtype), format);
}

at::Tensor empty_strided(c10::SymIntArrayRef size, c10::SymIntArrayRef stride,
                         std::optional<at::ScalarType> dtype, std::optional<at::Layout>,
                         std::optional<at::Device>, std::optional<bool>)
{
	return at::detail::empty_strided_generic(
	        C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(stride), &memory,
	        c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), c10::dtype_or_default(dtype));
}

/* The same memory as a CPU tensor. */
at::Tensor on_cpu(const at::Tensor &tensor)
{
	return at::from_blob(tensor.data_ptr(), tensor.sizes(), tensor.strides(),
	                     tensor.options().device(at::kCPU));
}

at::Tensor copy_from(const at::Tensor &from, const at::Tensor &to, bool)
{
	on_cpu(to).copy_(on_cpu(from));
	return to;
}

const at::Tensor &resize(const at::Tensor &self, c10::SymIntArrayRef size,
                         std::optional<at::MemoryFormat> format)
{
	return at::native::resize_(self, C10_AS_INTARRAYREF_SLOW(size), format);
}

at::Tensor copy_and_resize(const at::Tensor &from, const at::Tensor &to)
{
	to.resize_(from.sizes());
	return copy_from(from, to, false);
}

at::Tensor as_strided(const at::Tensor &self, c10::SymIntArrayRef size, c10::SymIntArrayRef stride,
                      std::optional<c10::SymInt> offset)
{
	return at::native::as_strided_tensorimpl(
	        self, C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(stride),
	        offset ? std::optional(offset->expect_int()) : std::nullopt);
}

at::Tensor view(const at::Tensor &self, c10::SymIntArrayRef size)
{
	return at::native::view(self, C10_AS_INTARRAYREF_SLOW(size));
}

void compute_on_cpu(const c10::OperatorHandle &op, torch::jit::Stack *stack)
{
	at::native::cpu_fallback(op, stack);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library)
{
	library.impl("empty.memory_format", empty);
	library.impl("empty_strided", empty_strided);
	library.impl("_copy_from", copy_from);
	library.impl("_copy_from_and_resize", copy_and_resize);
	library.impl("resize_", resize);
	library.impl("as_strided", as_strided);
	library.impl("view", view);
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, library)
{
	library.fallback(torch::CppFunction::makeFromBoxedFunction<&compute_on_cpu>());
}

C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard);

} // namespace

extern "C" __attribute__((visibility("default"))) void openreg_register()
{
	c10::SetAllocator(type, &memory);
	c10::register_privateuse1_backend("openreg");
}
